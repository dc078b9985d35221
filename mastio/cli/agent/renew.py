"""`mastio renew`, as in `mastio-client`."""

from mastio_client.cli.renew import add_arguments as add_arguments
from mastio_client.cli.renew import run as run
