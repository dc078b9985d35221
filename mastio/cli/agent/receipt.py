"""`mastio receipt`, as in `mastio-client`."""

from mastio_client.cli.receipt import add_arguments as add_arguments
from mastio_client.cli.receipt import run as run
