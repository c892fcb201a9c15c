FROM python:3.11.14-slim-bookworm AS build
WORKDIR /source
COPY setup.cfg pyproject.toml README.md ./
COPY quotaapi quotaapi
COPY admission admission
COPY storage storage
COPY apis apis
RUN python -m venv /opt/quotaapi \
    && /opt/quotaapi/bin/pip install --no-cache-dir --disable-pip-version-check '.[etcd]'

FROM python:3.11.14-slim-bookworm
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin quotaapi \
    && install --directory --owner quotaapi --mode 0700 /data
COPY --from=build /opt/quotaapi /opt/quotaapi
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8443
STOPSIGNAL SIGTERM
# The certificate is the server's own affair here: whether it lives is all that is asked.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/opt/quotaapi/bin/python", "-c", \
    "import ssl, urllib.request as r; r.urlopen('https://127.0.0.1:8443/livez', timeout=4, context=ssl._create_unverified_context())"]
ENTRYPOINT ["/opt/quotaapi/bin/quotaapi"]
CMD ["serve", "--data-dir", "/data/quotaapi.data"]
