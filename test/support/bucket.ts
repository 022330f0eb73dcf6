/**
 * A bucket on loopback: the S3 API of another service, behind a proxy that refuses what a test names. Its signatures
 * and checksums are those of that service, which official clients test (test/spec/s3).
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { CreateBucketCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { credentialsOf } from "../../src/modules/s3/requests/credentials.ts";
import { startService } from "./service.ts";

/** How a request is refused: with an answer, or by a connection that is cut. */
type Fault = { status: number; code?: string } | "cut";

export const BUCKET = "kept";

export async function startBucket() {
	const service = await startService({ endpoints: { ep: {} } });
	const { keyId, secretKey } = credentialsOf(service.engine.access.encryption, "ep", 1);
	const { hostname, port } = new URL(service.url);
	const asked: string[] = [];
	let fault: (asked: string) => Fault | undefined = () => undefined;

	const proxy = createServer((req: IncomingMessage, res) => {
		const { method = "", url = "", headers } = req;
		asked.push(`${method} ${url}`);
		const found = fault(`${method} ${url}`);
		if (found === "cut") return void req.socket.resetAndDestroy();
		if (found) {
			req.resume();
			res.writeHead(found.status, { "Content-Type": "application/xml" });
			const body = found.code === undefined ? "" : `<Error><Code>${found.code}</Code><Message>x</Message></Error>`;
			return void res.end(method === "HEAD" ? undefined : body);
		}
		const onward = request({ hostname, port, method, path: url, headers }, (answer) => {
			res.writeHead(answer.statusCode!, answer.headers);
			answer.on("error", () => res.destroy());
			answer.pipe(res);
		});
		onward.on("error", () => res.destroy());
		res.on("close", () => onward.destroy());
		req.pipe(onward);
	});
	await once(proxy.listen(0, "127.0.0.1"), "listening");
	const proxyPort = (proxy.address() as AddressInfo).port;
	const url = `http://127.0.0.1:${proxyPort}/s3`;
	const client = new S3Client({
		endpoint: `${service.url}/s3`,
		region: "us-east-1",
		forcePathStyle: true,
		credentials: { accessKeyId: keyId, secretAccessKey: secretKey },
	});
	await client.send(new CreateBucketCommand({ Bucket: BUCKET }));

	return {
		url,
		port: proxyPort,
		secret: secretKey,
		/** `files.bucket` of a service that has its files here. */
		settings: {
			url,
			name: BUCKET,
			region: "us-east-1",
			prefix: "test/",
			accessKeyId: keyId,
			secretAccessKey: secretKey,
		},
		/** Method and path of each request that arrived. */
		asked,
		/** Refuses requests from now on, by method and path; without an argument none. */
		refuse(by: (asked: string) => Fault | undefined = () => undefined): void {
			fault = by;
		},
		/** Keys and sizes of all objects but the marks of stores. */
		async objects(): Promise<Map<string, number>> {
			const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
			const all = Contents.map(({ Key = "", Size = 0 }) => [Key, Size] as const);
			return new Map(all.filter(([key]) => !key.endsWith("/place")));
		},
		async uploads(): Promise<number> {
			const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
			return Uploads.length;
		},
		client,
		async end(): Promise<void> {
			proxy.close();
			proxy.closeAllConnections();
			client.destroy();
			await service.end();
		},
	};
}
