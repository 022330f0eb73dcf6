# A machine with systemd on which docs/guides/systemd.md was followed.
ARG BASE
FROM sluice-test-service:latest AS service
FROM ${BASE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends systemd systemd-sysv curl openssl \
    && mkdir /etc/sluice && ln -s /usr/local/bin/node /usr/bin/node
COPY --from=service /app /opt/sluice
COPY sluice.sysusers /usr/lib/sysusers.d/sluice.conf
COPY sluice.service /etc/systemd/system/sluice.service
ENV container=docker
STOPSIGNAL SIGRTMIN+3
CMD ["/lib/systemd/systemd"]
