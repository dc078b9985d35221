"""`mastio enroll`, as in `mastio-client`."""

from mastio_client.cli.enroll import add_arguments as add_arguments
from mastio_client.cli.enroll import run as run
