# nginx of Debian.
ARG BASE
FROM ${BASE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends nginx-light
CMD ["nginx", "-g", "daemon off;"]
