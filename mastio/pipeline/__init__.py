"""The life of one request. Start reading at `order`."""
