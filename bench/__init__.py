"""minimand and its peers side by side: time to one common, certified gap."""
