/** The S3 face (D59). AWS documents its protocol: its routes are not in `/openapi.json`. */
import { MB, route } from "../../kernel/api/definition/route.ts";
import { object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";
import { ERRORS, S3_ERRORS } from "./errors.ts";
import { ALGORITHM } from "./requests/signature.ts";

const FACE = {
	summary: "The S3 API: objects of the endpoint whose credentials have signed the request.",
	answer: { description: "As S3 answers: XML, or the bytes of an object.", media: "application/xml" },
	page: true,
	judgesHead: true,
	scheme: ALGORITHM,
	errorForm: S3_ERRORS,
	maxBody: 2 ** 30 * MB,
	errors: Object.values(ERRORS),
} as const;

const CREDENTIALS = object({
	endpointUrl: { ...TEXT, description: "For `BUCKET_ENDPOINT_URL`; buckets are paths behind it." },
	accessKeyId: { ...TEXT, description: "For `BUCKET_ACCESS_KEY_ID`." },
	secretAccessKey: { ...TEXT, description: "For `BUCKET_SECRET_ACCESS_KEY`." },
});
export type S3Credentials = Static<typeof CREDENTIALS>;

const GET_CREDENTIALS = route("getS3Credentials", "GET /v1/endpoints/:endpoint/s3", "admin", {
	summary: "Credentials with which S3 clients read and write the objects of the endpoint.",
	answer: {
		description: "They stay valid while the secret of the service and the epoch of the endpoint are the same.",
		schema: CREDENTIALS,
	},
});

/** In the face the signature says who calls. */
export const S3_ROUTES = [
	route("s3Buckets", "GET /s3/", "anyone", FACE),
	route("s3Objects", "GET PUT /s3/*", "anyone", FACE),
	route("s3Changes", "POST DELETE /s3/*", "anyone", FACE),
	GET_CREDENTIALS,
] as const;
