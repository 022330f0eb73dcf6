/** OpenAI's `/files` (D56), before `/openai/*`, which is the worker's. */
import { text, whole, word } from "../../kernel/api/definition/params.ts";
import { MB, route } from "../../kernel/api/definition/route.ts";
import { COUNT, FLAG, list, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";
import { ERRORS } from "./errors.ts";

/** What files are stored for. Others of OpenAI need services that Sluice has not. */
export const PURPOSES = ["batch", "user_data", "vision"] as const;
export type Purpose = (typeof PURPOSES)[number];

/** Lifetime that a client may choose, seconds. */
export const LIFETIME = { minimum: 3600, maximum: 2_592_000 } as const;

const SECONDS = { type: "integer", minimum: 0, "x-unit": "seconds since 1970" } as const;
const NULL = { type: "null" } as const;
const TEXT_OR_NULL = { type: ["string", "null"] } as const;

export const FILE = object({
	id: { ...TEXT, description: "file- and 32 hex digits." },
	object: { enum: ["file"] },
	bytes: COUNT,
	created_at: SECONDS,
	"expires_at?": { ...SECONDS, description: "When the file is removed; absent: never." },
	filename: TEXT,
	purpose: { enum: [...PURPOSES, "batch_output"] },
	status: { enum: ["processed"] },
	status_details: NULL,
});
export type FileObject = Static<typeof FILE>;

export const FILE_LIST = object({
	object: { enum: ["list"] },
	data: list(FILE),
	first_id: { ...TEXT_OR_NULL, description: "null without files." },
	last_id: { ...TEXT_OR_NULL, description: "For `after` of the next page." },
	has_more: FLAG,
});

const DELETED = object({ id: TEXT, object: { enum: ["file"] }, deleted: { enum: [true] } });

const FILES = "/v2/:endpoint/openai/v1/files";

export const AFTER = text("after", 64, "Id of the last file of the page before.");
export const LIMIT = whole("limit", {
	minimum: 1,
	maximum: 10_000,
	default: 10_000,
	description: "Maximum number of files on this page.",
});
export const ORDER = word("order", ["asc", "desc"], "By age: asc is oldest first. Default: desc.");
export const PURPOSE = text("purpose", 64, "Only files with this purpose.");

const CREATE_FILE = route("createFile", `POST ${FILES}`, "write", {
	summary:
		"Stores a file, as OpenAI's API does. It is streamed to the store, and the answer follows when it is durable.",
	answer: { description: "The file.", schema: FILE },
	body: {
		description: "A form. Its fields may have any order.",
		media: "multipart/form-data",
		schema: {
			type: "object",
			required: ["file", "purpose"],
			properties: {
				file: { type: "string", format: "binary", description: "The file, of at most `files.maxMb`." },
				purpose: { enum: PURPOSES, description: "What it is for. Files for batches expire after 30 days by default." },
				"expires_after[anchor]": { enum: ["created_at"] },
				"expires_after[seconds]": { type: "integer", ...LIFETIME, description: "Lifetime." },
			},
		},
	},
	maxBody: 512 * MB,
	errors: [
		"bad_form",
		"bad_request",
		"part_too_large",
		"not_ready",
		ERRORS.missing_required_parameter,
		ERRORS.file_too_large,
		ERRORS.endpoint_files_full,
		ERRORS.files_full,
	],
});

const LIST_FILES = route("listFiles", `GET ${FILES}`, "read", {
	summary: "The files of the endpoint.",
	answer: { description: "A page of files.", schema: FILE_LIST },
	query: [AFTER, LIMIT, ORDER, PURPOSE],
});

const GET_FILE = route("getFile", `GET ${FILES}/:file`, "read", {
	summary: "One file, without its content.",
	answer: { description: "The file.", schema: FILE },
	errors: [ERRORS.file_not_found],
});

const GET_CONTENT = route("getFileContent", `GET ${FILES}/:file/content`, "read", {
	summary: "The content of a file, or the range of it that the header Range asks for.",
	answer: {
		description: "The bytes, with the media type of the upload; 206 with a part of them.",
		media: "application/octet-stream",
		headers: { "Content-Disposition": "inline for images, audio, video and plain text, else attachment." },
	},
	errors: [ERRORS.file_not_found, ERRORS.range_not_satisfiable, ERRORS.file_missing],
});

const REMOVE_FILE = route("removeFile", `DELETE ${FILES}/:file`, "write", {
	summary: "Deletes a file.",
	answer: { description: "The file was deleted.", schema: DELETED },
	errors: [ERRORS.file_not_found],
});

const UPLOADS = "/v2/:endpoint/openai/v1/uploads";
const NOT_SUPPORTED = {
	summary: "Refused: files are sent in one request.",
	answer: { description: "Never." },
	errors: [ERRORS.uploads_not_supported],
	page: true,
} as const;

const CREATE_UPLOAD = route("createUpload", `POST ${UPLOADS}`, "write", NOT_SUPPORTED);
const USE_UPLOAD = route("useUpload", `GET POST ${UPLOADS}/*`, "write", NOT_SUPPORTED);

export const FILE_ROUTES = [
	CREATE_FILE,
	LIST_FILES,
	GET_FILE,
	GET_CONTENT,
	REMOVE_FILE,
	CREATE_UPLOAD,
	USE_UPLOAD,
] as const;
