/** Answers S3 clients (D59): what a request asks for is in its method, its place and its query. */
import { type Call, isHead } from "../../kernel/http/exchange/call.ts";
import { sendEmpty, sendXml, nameRequest } from "./answers.ts";
import { readText } from "./requests/body-text.ts";
import { refusalOf, S3Error } from "./errors.ts";
import { findObject, getObject } from "./objects/get-object.ts";
import { listBuckets, listObjects, listParts, listUploads, OWNED, requireBucket } from "./objects/list-objects.ts";
import { notImplemented, refuseFeatures } from "./objects/object-headers.ts";
import { readRequest, type S3Request } from "./requests/request.ts";
import {
	abortUpload,
	completeUpload,
	copyObject,
	createUpload,
	findUpload,
	putObject,
	putPart,
	type UploadContext,
} from "./objects/uploads.ts";
import { element, elements } from "./xml.ts";
import { readDelete } from "./requests/xml-bodies.ts";

type Answer = (context: UploadContext, request: S3Request) => Promise<void> | void;

/** Parameters that ask for something else than the object or bucket, and which this face has not. */
const REFUSED: readonly string[] = [
	...["accelerate", "analytics", "attributes", "encryption", "intelligent-tiering", "inventory", "legal-hold"],
	...["lifecycle", "logging", "metrics", "notification", "object-lock", "ownershipControls", "partNumber"],
	...["policyStatus", "publicAccessBlock", "renameObject", "replication", "requestPayment", "restore", "retention"],
	...["select", "tagging", "torrent", "versions", "website", "policy", "cors", "acl", "versioning", "location"],
	...["uploads", "uploadId", "delete", "session", "append"],
];

const ACL = element(
	"AccessControlList",
	`<Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser">${elements({
		ID: "sluice",
		DisplayName: "sluice",
	})}</Grantee><Permission>FULL_CONTROL</Permission></Grant>`,
);

const sendAcl = ({ call }: S3Request): Promise<void> => sendXml(call, "AccessControlPolicy", OWNED + ACL);

const missing = (code: "NoSuchBucketPolicy" | "NoSuchCORSConfiguration", what: string) => () => {
	throw new S3Error(code, `The bucket has no ${what}.`);
};

/** Answers by method and parameter; without a parameter that of the rest. */
const SERVICE: Readonly<Record<string, Answer>> = { "GET ": listBuckets };

const BUCKET: Readonly<Record<string, Answer>> = {
	"GET location": inBucket(({ call }) => sendXml(call, "LocationConstraint", "")),
	"GET versioning": inBucket(({ call }) => sendXml(call, "VersioningConfiguration", "")),
	"GET acl": inBucket(sendAcl),
	"GET policy": inBucket(missing("NoSuchBucketPolicy", "policy")),
	"GET cors": inBucket(missing("NoSuchCORSConfiguration", "rules of origins")),
	"GET uploads": listUploads,
	"GET ": async (context, request) =>
		isHead(request.call)
			? await requireBucket(context, request).then(() => sendEmpty(request.call))
			: await listObjects(context, request),
	"PUT ": async ({ objects }, { call, endpoint, bucket }) => {
		// Its body, if it has one, names a region, and is not read.
		await objects.createBucket(endpoint, bucket);
		sendEmpty(call, { Location: `/s3/${bucket}` });
	},
	"DELETE ": removeBucket,
	"POST delete": removeObjects,
};

const OBJECT: Readonly<Record<string, Answer>> = {
	"GET acl": async (context, request) => await findObject(context, request).then(() => sendAcl(request)),
	"GET uploadId": async (context, request) => {
		const { id } = await findUpload(context, request);
		await listParts(context, request, id);
	},
	"GET ": getObject,
	"PUT uploadId": putPart,
	"PUT ": async (context, request) =>
		await (request.header("x-amz-copy-source") === undefined ? putObject : copyObject)(context, request),
	"POST uploads": createUpload,
	"POST uploadId": completeUpload,
	"DELETE uploadId": abortUpload,
	"DELETE ": async ({ objects }, { call, endpoint, bucket, key }) => {
		await objects.remove({ endpoint, bucket, keys: [key] });
		sendEmpty(call, {}, 204);
	},
};

function inBucket(answer: (request: S3Request) => Promise<void> | void): Answer {
	return async (context, request) => {
		await requireBucket(context, request);
		await answer(request);
	};
}

function answerOf(request: S3Request): Answer {
	const { call, bucket, key, query, header } = request;
	const table = key !== "" ? OBJECT : bucket !== "" ? BUCKET : SERVICE;
	const method = isHead(call) ? "GET" : (call.req.method ?? "");
	const names = REFUSED.filter((name) => query.has(name));
	const isPart = names.includes("uploadId") && method === "PUT";
	const [name = ""] = isPart ? ["uploadId"] : names;
	const answer = table[`${method} ${name}`];
	if (isPart && header("x-amz-copy-source") !== undefined) throw notImplemented("A part that is copied");
	if (answer) return answer;
	if (name !== "") throw notImplemented(`${method} with the parameter '${name}'`);
	if (method === "POST") throw notImplemented("An upload by a form");
	throw new S3Error("MethodNotAllowed", `${method} is not allowed here.`);
}

async function removeBucket({ kernel }: UploadContext, { call, endpoint, bucket }: S3Request): Promise<void> {
	const outcome = await kernel.store.objects.removeBucket({ endpoint, name: bucket, now: kernel.now() });
	if (outcome === "not empty") throw new S3Error("BucketNotEmpty", `The bucket '${bucket}' has objects.`);
	if (outcome === "no bucket") throw new S3Error("NoSuchBucket", `There is no bucket '${bucket}' at this endpoint.`);
	sendEmpty(call, {}, 204);
}

async function removeObjects({ objects }: UploadContext, request: S3Request): Promise<void> {
	const { call, endpoint, bucket } = request;
	const { keys, quiet } = await readDelete(await readText(request));
	await objects.remove({ endpoint, bucket, keys });
	const each = quiet ? [] : keys.map((key) => element("Deleted", elements({ Key: key })));
	await sendXml(call, "DeleteResult", each.join(""));
}

export function s3Handler(context: UploadContext): (call: Call) => Promise<void> {
	return async (call) => {
		nameRequest(call);
		try {
			const request = await readRequest(call, context.kernel);
			refuseFeatures(request);
			await answerOf(request)(context, request);
		} catch (error) {
			// The next request of the connection is behind it.
			call.req.resume();
			throw refusalOf(error, call.req.complete);
		}
	};
}
