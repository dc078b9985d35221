"""`mastio call`, as in `mastio-client`."""

from mastio_client.cli.call import add_arguments as add_arguments
from mastio_client.cli.call import run as run
