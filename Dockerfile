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
ENTRYPOINT ["/opt/quotaapi/bin/quotaapi"]
# In a pod its service account is used; alone it says what it has to be given (docs/operations.md).
CMD ["serve", "--bind-address=0.0.0.0", "--data-dir=/data/quotaapi.data"]
