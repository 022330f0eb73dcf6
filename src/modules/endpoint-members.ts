/**
 * Settings of endpoints that modules define, which the kernel imports as `#endpoint-members`: the schema of endpoints
 * is made of theirs too. Removing an import and its entry removes the setting.
 */
import type { EndpointMember } from "../kernel/core/endpoints/endpoint-member.ts";
import { HTTP } from "./http-workers/member.ts";
import { FILES } from "./s3/workers/member.ts";

export const MEMBERS: readonly EndpointMember[] = [HTTP, FILES];
