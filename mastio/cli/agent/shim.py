"""`mastio shim`, as in `mastio-client`."""

from mastio_client.cli.shim import add_arguments as add_arguments
from mastio_client.cli.shim import run as run
