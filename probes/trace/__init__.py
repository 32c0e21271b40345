"""Hop counts and routes by packets that live only so long, with scapy on the hosts."""
