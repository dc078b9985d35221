# The app: the core and its plugins in a virtual environment, hash-pinned, without compiler, shell tools or build cache.
#
# Build arguments: PYTHON_IMAGE, the base. Optional: a folder `wheelhouse/` beside this file with a wheel for every line
# of requirements.lock, then no package index is asked; a build secret `ca`, a bundle of authorities to trust while
# packages are fetched, for networks whose proxy ends TLS.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /opt/mastio
RUN python3 -m venv .venv
# The lock alone first: a change of the code does not fetch the packages again. No match for the glob is no error.
COPY requirements.lock wheelhouse* /wheelhouse/
RUN --mount=type=secret,id=ca \
    set -eu; \
    if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi; \
    if ls /wheelhouse/*.whl >/dev/null 2>&1; then set -- --no-index --find-links /wheelhouse; else set --; fi; \
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --require-hashes "$@" \
        -r /wheelhouse/requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY client client
COPY mastio mastio
COPY plugins plugins
# Compiled here, since the running container can write nothing.
RUN .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        -e ./client -e . \
    && .venv/bin/python -m compileall -q client mastio plugins \
    && .venv/bin/python -m mastio.cli.appliance.precompile

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/mastio /opt/mastio
ENV PATH=/opt/mastio/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT []
CMD ["mastio", "serve", "--data", "/data"]
