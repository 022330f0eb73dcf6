# PostgreSQL of Debian behind the variables of the image `postgres`, as far as compose.yaml uses them.
ARG BASE
FROM ${BASE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql \
    && rm -rf /var/lib/postgresql/* && ln -s /usr/lib/postgresql/[0-9]* /usr/lib/postgresql/current
ENV PATH=/usr/lib/postgresql/current/bin:$PATH PGDATA=/var/lib/postgresql/data
VOLUME /var/lib/postgresql
COPY postgres-entrypoint /entrypoint
ENTRYPOINT ["/entrypoint"]
