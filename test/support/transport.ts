/**
 * How services under test are reached: http, or with `SLUICE_TEST_TLS=1` https with the certificate
 * in `tls/`, of an authority of its own for localhost and 127.0.0.1, which this process and those it
 * starts trust then.
 */
import http from "node:http";
import https from "node:https";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectSecurely, getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";

/** Whether services under test speak https. */
export const ON_TLS = process.env["SLUICE_TEST_TLS"] === "1";

export const SCHEME = ON_TLS ? "https" : "http";

export const { Agent } = ON_TLS ? https : http;

const [CERT, KEY] = ["cert", "key"].map((name) => fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url))) as [
	string,
	string,
];

/** Variables of a service that has the certificate. */
export const TLS_ENV = ON_TLS ? { SLUICE_TLS_CERT: CERT, SLUICE_TLS_KEY: KEY } : {};

if (ON_TLS) {
	setDefaultCACertificates([...getCACertificates("default"), readFileSync(CERT, "utf8")]);
	Object.assign(process.env, { NODE_EXTRA_CA_CERTS: CERT, CURL_CA_BUNDLE: CERT });
}

/** A request whose `Host` may be any. */
export function request(
	url: string | URL,
	options: http.RequestOptions,
	onAnswer: (answer: http.IncomingMessage) => void,
): http.ClientRequest {
	return ON_TLS
		? https.request(url, { ...options, servername: "localhost" }, onAnswer)
		: http.request(url, options, onAnswer);
}

/** A server of a test that stands in the service's place. */
export function createServer(answer: http.RequestListener): http.Server {
	return ON_TLS
		? https.createServer({ cert: readFileSync(CERT), key: readFileSync(KEY) }, answer)
		: http.createServer(answer);
}

/** A connection for requests by hand, which may be written before it is established; and its reset. */
export function connectTo(url: string): { socket: Socket; reset: () => void } {
	const { protocol, hostname, port } = new URL(url);
	const plain = connect(Number(port), hostname);
	const socket = protocol === "https:" ? connectSecurely({ socket: plain, servername: "localhost" }) : plain;
	return { socket, reset: () => void plain.resetAndDestroy() };
}
