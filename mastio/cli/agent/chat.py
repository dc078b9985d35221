"""`mastio chat`, as in `mastio-client`."""

from mastio_client.cli.chat import add_arguments as add_arguments
from mastio_client.cli.chat import run as run
