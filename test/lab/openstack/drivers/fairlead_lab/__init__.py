"""Drivers and launchers that let OpenStack services run without hypervisors, agents and amphorae."""
