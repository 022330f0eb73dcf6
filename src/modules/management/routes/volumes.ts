/** Network volumes of the management API (D49). */
import { plainText, type Schema } from "../../../kernel/lib/schema.ts";
import { changeOf, resource } from "./resource.ts";
import { listIn, object, TEXT } from "../../../kernel/api/definition/schema.ts";

const TYPE = { enum: ["STANDARD", "HIGH_PERFORMANCE"] } as const;

const NAME = { ...plainText(1, 191), description: "Its name; need not be unique." } as const;
const SIZE = {
	type: "integer",
	minimum: 10,
	maximum: 4096,
	description: "GB. A note: the launcher does not limit it.",
} as const satisfies Schema;

const VOLUME = object({
	id: TEXT,
	name: TEXT,
	size: SIZE,
	dataCenter: TEXT,
	type: TYPE,
	source: {
		...TEXT,
		description: "Folder, volume or claim that launcher.volumes names. Its data is never deleted by the service.",
	},
});
const CREATED = {
	type: "object",
	additionalProperties: false,
	required: ["name", "size", "dataCenter"],
	properties: {
		name: {
			...NAME,
			description: "Its name. An entry of management.volumes in sluice.yaml with this name is used.",
		},
		size: SIZE,
		dataCenter: { ...plainText(1, 191), description: "GET /v2/catalog/datacenters lists them.", examples: ["local"] },
		type: { ...TYPE, default: "STANDARD", description: "Stored and returned." },
	},
	"x-message": "must be an object with name, size and dataCenter.",
} as const satisfies Schema;

const CHANGED = {
	type: "object",
	additionalProperties: false,
	properties: { name: NAME, size: { ...SIZE, description: "GB, at least the present size." } },
	"x-message": "must be an object with name or size.",
} as const satisfies Schema;

const ONE = { description: "The volume.", schema: VOLUME };

export const VOLUMES = resource({
	names: ["Volume", "Volumes"],
	path: "/v2/network-volumes",
	id: "volume",
	answer: ONE,
	all: { description: "The volumes, newest first.", schema: listIn("networkVolumes", VOLUME) },
	summaries: ["Network volumes.", "One network volume."],
	create: {
		summary: "Makes a network volume, which workers of endpoints that name it see at /runpod-volume.",
		description: "The volume.",
		schema: CREATED,
	},
	remove: {
		summary: "Deletes a network volume that no endpoint uses. Its data stays where it is.",
		errors: ["resource_not_found", "bad_request"],
	},
});

export const CHANGE_VOLUME = changeOf({
	name: "Volume",
	path: "/v2/network-volumes/:volume",
	answer: ONE,
	summary: "Changes the name or the size of a network volume.",
	body: { description: "At least one of them.", schema: CHANGED },
});

export const VOLUME_ROUTES = [VOLUMES.list, VOLUMES.create, VOLUMES.get, CHANGE_VOLUME, VOLUMES.remove] as const;
