/** Errors of files (D56). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	missing_required_parameter: {
		status: 400,
		sentence: "Missing required parameter: '{name}'.",
		advice: "Send the field of the form that the sentence names.",
	},
	file_not_found: {
		status: 404,
		sentence: "There is no file '{file}' on endpoint '{endpoint}': the id is unknown, or the file has expired.",
		advice: "List the files of the endpoint.",
	},
	file_too_large: {
		status: 413,
		sentence: "The file has {size} bytes; at most {limit} are accepted, since files.maxMb is {limitMb}.",
		advice: "Split the file, or raise `files.maxMb` in `sluice.yaml`.",
	},
	endpoint_files_full: {
		status: 413,
		sentence:
			"The files of endpoint '{endpoint}' have {stored} MB; with this one they would have more than " +
			"files.endpointMb, {limitMb} MB. Delete some, or raise files.endpointMb.",
		advice: "Delete files of the endpoint, or raise `files.endpointMb` in `sluice.yaml`.",
	},
	files_full: {
		status: 413,
		sentence:
			"The files of all endpoints have {stored} MB; with this one they would have more than files.totalMb, " +
			"{limitMb} MB. Delete some, or raise files.totalMb.",
		advice: "Delete files, or raise `files.totalMb` in `sluice.yaml`.",
	},
	range_not_satisfiable: {
		status: 416,
		sentence: "The file has {bytes} bytes, and none of them is in the range that the header Range asks for.",
		advice: "Ask for bytes below the size of the file.",
	},
	file_missing: {
		status: 500,
		sentence:
			"The bytes of file '{file}' are missing or cut off in the store. Restore them from a backup, or delete the " +
			"file; 'sluice verify' names all such files of a SQLite store.",
		advice: "Restore a backup, or delete the file.",
	},
	uploads_not_supported: {
		status: 501,
		sentence:
			"Uploads in parts are not supported. Send the whole file with POST /v2/{endpoint}/openai/v1/files; it is " +
			"stored as it arrives.",
		isExpected: true,
		advice: "Send the file in one request.",
	},
});
