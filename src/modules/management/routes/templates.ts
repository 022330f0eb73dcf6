/** Templates of the management API (D49). */
import { DEFAULT_DISK, GPU_MEMBERS } from "../../../kernel/core/endpoints/management-setting.ts";
import { plainText, type Schema } from "../../../kernel/lib/schema.ts";
import { word } from "../../../kernel/api/definition/params.ts";
import { managed, NOT_FOUND } from "./operation.ts";
import { changeOf, resource } from "./resource.ts";
import { FLAG, list, object, type Static, TEXT, TEXTS } from "../../../kernel/api/definition/schema.ts";
import { CONTAINER } from "./container.ts";
import { CURSOR, LIMIT, pagesOf } from "./pages.ts";

const CATEGORY = { enum: ["CPU", "NVIDIA", "AMD"] } as const;

const MOUNT = {
	type: "object",
	additionalProperties: false,
	required: ["size", "path"],
	properties: {
		size: { type: "integer", minimum: 10, maximum: 1_000_000 },
		path: { type: "string", pattern: "^/[^\\0:]*$", "x-message": "must be an absolute path." },
	},
	"x-message": "must be { size: 10, path: /workspace } with at least 10 GB.",
} as const satisfies Schema;

const MOUNTS = {
	type: "object",
	additionalProperties: false,
	properties: { persistent: MOUNT },
	"x-message": "must be {} or { persistent: { size, path } }.",
} as const satisfies Schema;

const TEMPLATE = object({
	id: TEXT,
	name: TEXT,
	image: TEXT,
	args: TEXT,
	cmd: TEXTS,
	entrypoint: TEXTS,
	disk: { type: "integer" } as const,
	mounts: object({ "persistent?": object({ size: { type: "integer" } as const, path: TEXT }) }),
	ports: TEXTS,
	env: { type: "object", additionalProperties: TEXT } as const,
	registry: { type: ["string", "null"] } as const,
	serverless: FLAG,
	public: FLAG,
	category: CATEGORY,
	startSsh: FLAG,
	startJupyter: FLAG,
	allowedCudaVersions: list(TEXT),
});
export type TemplateJson = Static<typeof TEMPLATE>;

const stored = (schema: Schema, value: unknown): Schema => ({
	...schema,
	default: value,
	description: "Stored and returned.",
});

/** Members of requests, with the defaults of a new template. */
const MEMBERS = {
	name: { ...plainText(1, 191), description: "Its name; need not be unique." },
	...CONTAINER,
	disk: { ...CONTAINER.disk, default: DEFAULT_DISK },
	ports: { ...CONTAINER.ports, default: [] },
	env: { ...CONTAINER.env, default: {} },
	mounts: stored(MOUNTS, {}),
	serverless: { ...FLAG, default: false, description: "Whether endpoints can use it." },
	public: { ...FLAG, default: false, description: "Whether GET /v2/catalog/templates lists it." },
	category: stored(CATEGORY, "NVIDIA"),
	startSsh: stored(FLAG, true),
	startJupyter: stored(FLAG, true),
	allowedCudaVersions: {
		...GPU_MEMBERS.allowedCudaVersions,
		default: [],
		description: "CUDA versions of drivers; [] for any.",
	},
} as const satisfies Record<string, Schema>;

const CREATED = {
	type: "object",
	additionalProperties: false,
	required: ["name", "image"],
	properties: MEMBERS,
	"x-message": "must be an object with name and image.",
} as const satisfies Schema;

const CHANGED = {
	type: "object",
	additionalProperties: false,
	properties: MEMBERS,
	"x-message": "must be an object.",
} as const satisfies Schema;

const ONE = { description: "The template.", schema: TEMPLATE };
const PAGE = {
	description: "The templates, newest first.",
	schema: pagesOf("templates", TEMPLATE),
};

export const TEMPLATES = resource({
	names: ["Template", "Templates"],
	path: "/v2/templates",
	id: "template",
	answer: ONE,
	all: PAGE,
	query: [LIMIT, CURSOR],
	summaries: ["Templates, with the values of their variables.", "One template."],
	showsValues: true,
	create: {
		summary: "Stores a template. Endpoints take it once, by templateId, and do not follow later changes.",
		description: "The template.",
		schema: CREATED,
	},
	remove: { summary: "Deletes a template. Endpoints made from it stay.", errors: NOT_FOUND },
});

export const CHANGE_TEMPLATE = changeOf({
	name: "Template",
	path: "/v2/templates/:template",
	answer: ONE,
	summary: "Changes a template. Members that are left out stay; env is replaced as a whole; mounts {} stays too.",
	body: { description: "What changes.", schema: CHANGED },
});

export const SOURCE = {
	...word("source", ["official", "verified", "community"], "official: those with public. Others: none."),
	default: "official",
} as const;

export const LIST_PUBLIC_TEMPLATES = managed("listPublicTemplates", "GET /v2/catalog/templates", {
	showsValues: true,
	summary: "Templates with public, at most 100.",
	answer: PAGE,
	query: [SOURCE],
});

export const TEMPLATE_ROUTES = [
	TEMPLATES.list,
	TEMPLATES.create,
	TEMPLATES.get,
	CHANGE_TEMPLATE,
	TEMPLATES.remove,
	LIST_PUBLIC_TEMPLATES,
] as const;
