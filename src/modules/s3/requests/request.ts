/** Reads a request of an S3 client, and checks who has signed it (D59). */
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import { ApiError } from "../../../kernel/core/errors.ts";
import { type Call, outside } from "../../../kernel/http/exchange/call.ts";
import { bodyPieces } from "../../../kernel/http/exchange/body-stream.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { epochOf, parseKeyId, secretsOf } from "./credentials.ts";
import { S3Error } from "../errors.ts";
import { type Payload, payloadOf } from "./payload.ts";
import {
	type ChunkSigner,
	encodeUri,
	readSignature,
	type SentRequest,
	type Signature,
	type SignedPlace,
	verify,
} from "./signature.ts";

/** The least that a client must send, so that an upload ends. */
const BYTES_PER_SECOND = 4096;

/** Path of the face. */
const FACE = "/s3";
const LONGEST_KEY = 1024;
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export interface S3Request {
	call: Call;
	endpoint: string;
	/** Id of the credentials. */
	keyId: string;
	/** Empty: the request is for all buckets. */
	bucket: string;
	/** Empty: the request is for the bucket. */
	key: string;
	query: ReadonlyMap<string, string>;
	/** The first value of a header; in a link, also that of a parameter that a client signed instead. */
	header(name: string): string | undefined;
	payload(): Payload;
}

type Context = Pick<Kernel, "calendar" | "encryption" | "endpoints" | "url">;

/** Throws, without reading the body, unless credentials of an endpoint have signed the request. */
export async function readRequest(call: Call, kernel: Context): Promise<S3Request> {
	const sent = sentRequest(call);
	const signature = readSignature(sent);
	const parsed = parseKeyId(signature.keyId);
	if (!parsed) throw unknownKey();
	const places = signedPlaces(sent, new URL(await kernel.url));
	const secrets = secretsOf(kernel.encryption, signature.keyId);
	const signer = verify(sent, signature, { secrets, places, now: kernel.calendar.now() });
	const { endpoint } = parsed;
	if (epochOf(await known(kernel, endpoint)) !== parsed.epoch) throw unknownKey();
	call.identity.principal = {
		keyId: signature.keyId,
		name: "S3 credentials",
		scopes: ["read", "write"],
		endpoints: [endpoint],
	};
	call.service.connections.identified(call.connection);
	return { endpoint, ...readTarget(call.path), ...membersOf(call, sent, signature, signer) };
}

/**
 * What clients may have signed: a proxy may have changed the host, or removed the path of the service's address, and
 * some clients sign characters encoded that they send as they are, such as parentheses.
 */
export function signedPlaces({ path, headers }: Pick<SentRequest, "path" | "headers">, url: URL): SignedPlace[] {
	const hosts = [...new Set([...(headers.get("host") ?? []).slice(0, 1), url.host])];
	const removed = url.pathname.replace(/\/$/, "");
	const encoded = path.split("/").map((each) => encodeUri(decoded(each)));
	const paths = [...new Set([path, encoded.join("/")])];
	const at = (base: string) => hosts.flatMap((host) => paths.map((each) => ({ host, path: base + each })));
	if (removed === "") return at("");
	// One signed path must not be two objects: below the address, and as a bucket of its name.
	if (path !== FACE && !path.startsWith(`${FACE}/`)) return [];
	return removed.startsWith(FACE) ? at(removed) : [...at(""), ...at(removed)];
}

function sentRequest({ req, queryText }: Call): SentRequest {
	// As it was sent: the kernel may have added that of the face, and the target may be absolute.
	const [path = ""] = (req.url ?? "").replace(/^https?:\/\/[^/?]*/i, "").split("?");
	const headers = new Map<string, string[]>();
	for (let at = 0; at < req.rawHeaders.length; at += 2) {
		const name = req.rawHeaders[at]!.toLowerCase();
		headers.set(name, [...(headers.get(name) ?? []), req.rawHeaders[at + 1]!]);
	}
	const pairs = queryText.split("&").filter((each) => each !== "");
	const query = pairs.map((pair) => {
		const [name = "", ...value] = pair.split("=");
		return [decoded(name.replaceAll("+", " ")), decoded(value.join("=").replaceAll("+", " "))] as const;
	});
	return { method: req.method ?? "", path, query, headers };
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		throw new S3Error("InvalidURI", "The path or the query has an escape that is not UTF-8.");
	}
}

function unknownKey(): S3Error {
	return new S3Error("InvalidAccessKeyId", "There are no such credentials, or newer ones have replaced them.");
}

/** Another server may have created it just now: only for a request whose signature is right. */
async function known({ endpoints }: Context, id: string): Promise<Endpoint> {
	try {
		return await endpoints.find(id);
	} catch (error) {
		throw error instanceof ApiError && error.code === "endpoint_not_found" ? unknownKey() : error;
	}
}

function readTarget(path: string): { bucket: string; key: string } {
	const [, , bucket = "", ...rest] = path.split("/");
	return { bucket: bucketName(decoded(bucket)), key: objectKey(decoded(rest.join("/"))) };
}

function bucketName(bucket: string): string {
	if (bucket === "" || BUCKET.test(bucket)) return bucket;
	throw new S3Error(
		"InvalidBucketName",
		"The name of a bucket must be 1 to 128 of the characters a-z, A-Z, 0-9, dot, hyphen and underscore, and begin " +
			"with a letter or digit.",
	);
}

function objectKey(key: string): string {
	if (key.includes("\0")) throw new S3Error("InvalidArgument", "A key must not contain NUL.");
	if (Buffer.byteLength(key) <= LONGEST_KEY) return key;
	throw new S3Error("KeyTooLongError", `A key must have at most ${LONGEST_KEY} bytes of UTF-8.`);
}

/** `bucket/key` as a header names the source of a copy: perhaps with a slash before, or an encoded one between. */
export function readPlace(text: string): { bucket: string; key: string } {
	const [bucket = "", ...rest] = decoded(text.replace(/\?versionId=null$/, ""))
		.replace(/^\//, "")
		.split("/");
	const key = rest.join("/");
	if (bucket !== "" && key !== "") return { bucket: bucketName(bucket), key: objectKey(key) };
	throw new S3Error("InvalidArgument", "x-amz-copy-source must be a bucket, a slash and a key.");
}

function membersOf(call: Call, sent: SentRequest, signature: Signature, signer: ChunkSigner) {
	const query = new Map(sent.query);
	const sentHeader = (name: string): string | undefined => sent.headers.get(name)?.[0];
	const cutShort = (): S3Error => new S3Error("IncompleteBody", "The connection closed before the end of the body.");
	return {
		call,
		query,
		keyId: signature.keyId,
		header: (name: string): string | undefined =>
			sentHeader(name) ?? (signature.expires === undefined ? undefined : query.get(name)),
		payload: (): Payload => {
			const body = bodyPieces(call, { bytesPerSecond: BYTES_PER_SECOND, cutShort });
			const pieces = { [Symbol.asyncIterator]: () => timed(call, body) };
			return payloadOf({ payload: signature.payload, signer, pieces, header: sentHeader });
		},
	};
}

/** The time in which a client sends is not the service's. */
function timed(call: Call, pieces: AsyncGenerator<Buffer, void>): AsyncIterator<Buffer, void> {
	return { next: () => outside(call, pieces.next()), return: () => pieces.return() };
}
