/** S3 clients of a service under test (D59). */
import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { AwsClient } from "aws4fetch";
import { credentialsOf } from "../../../src/modules/s3/requests/credentials.ts";
import type { TestService } from "../../support/service.ts";

type Server = Pick<TestService, "engine" | "url">;

export const credentials = (service: Server, endpoint: string, epoch = 1) =>
	credentialsOf(service.engine.access.encryption, endpoint, epoch);

/** The official client, as its guide says for servers that are not AWS. */
export function clientOf(service: Server, endpoint: string, more: S3ClientConfig = {}): S3Client {
	const { keyId, secretKey } = credentials(service, endpoint);
	return new S3Client({
		endpoint: `${service.url}/s3`,
		region: "us-east-1",
		forcePathStyle: true,
		credentials: { accessKeyId: keyId, secretAccessKey: secretKey },
		maxAttempts: 1,
		...more,
	});
}

/** A client that signs any request, with the status and text of its answer. */
export function rawClientOf(service: Server, endpoint: string) {
	const { keyId, secretKey } = credentials(service, endpoint);
	const client = new AwsClient({ accessKeyId: keyId, secretAccessKey: secretKey, service: "s3", region: "us-east-1" });
	return async (method: string, path: string, init: RequestInit = {}) => {
		const request = await client.sign(`${service.url}/s3${path}`, { method, ...init });
		return await answerTo(request);
	};
}

export async function answerTo(request: Request | string, init: RequestInit = {}) {
	const { status, headers, ...answer } = await read(await fetch(request, init));
	return { status, headers, ...answer };
}

async function read(response: Response) {
	const text = await response.text();
	const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1];
	return { status: response.status, headers: response.headers, text, code };
}
