"""Measurement of routes by packets with increasing time to live, with scapy on the hosts."""
