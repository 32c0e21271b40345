"""Search for cheap orders under any latency form (`latency_search.search_by_latency`)."""
