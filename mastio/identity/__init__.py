"""From credentials to a principal: binding, restrictions, keys, who may approve."""
