"""Error codes and types of providers, by meaning; in lower case, as `error_body.normalize_code` returns them."""

from __future__ import annotations


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


REFUSED_BY_LITELLM = split_words("""
    BudgetExceededError GuardrailRaisedException BlockedPiiEntityError RejectedRequestError UnsupportedParamsError
    JSONSchemaValidationError LiteLLMUnknownProvider ImageFetchError ModifyResponseException
    SensitiveDataRouteException VectorStoreSearchError
""")
FOUND_AT_FAULT_BY_LITELLM = split_words("ContextWindowExceededError ContentPolicyViolationError")
CLIENT_WENT_AWAY = split_words("CancelledError ClientDisconnect ClientDisconnected")
CONNECTION = split_words("""
    APIConnectionError Timeout APITimeoutError MidStreamFallbackError TimeoutError ConnectError ConnectTimeout
    ReadError ReadTimeout WriteError WriteTimeout PoolTimeout RemoteProtocolError ConnectionError
    ConnectionResetError SSLError ClientConnectorError ServerDisconnectedError
""")
FAULT = split_words("InternalServerError BadGatewayError APIError APIStatusError APIResponseValidationError")
BAD_REQUEST = split_words("BadRequestError NotFoundError UnprocessableEntityError InvalidRequestError ConflictError")

KEY_NOT_VALID = split_words("""
    invalid_api_key api_key_invalid incorrect_api_key invalid_authentication invalid_authentication_error
    unrecognizedclientexception invalidsignatureexception missingauthenticationtokenexception
    incompletesignatureexception invalid_grant refresh_token_reused
""")
CREDENTIAL_EXPIRED = split_words("""
    token_expired api_key_expired expiredtokenexception token_revoked token_invalidated
    refresh_token_expired expiredtoken
""")
ACCOUNT_DISABLED = split_words("""
    account_deactivated deactivated_workspace organization_disabled consumer_suspended
    access_terminated_error service_disabled consumer_invalid
""")
NOT_PAID = split_words("""
    billing_not_active billing_error billing_disabled payment_required insufficient_balance usage_not_included
    credit_balance_too_low arrearage
""")
NOT_FROM_HERE = split_words("""
    unsupported_country_region_territory ip_not_authorized request_forbidden api_key_service_blocked
    api_key_ip_address_blocked
""")
MODEL_NOT_AVAILABLE = split_words("""
    model_not_found deploymentnotfound resourcenotfoundexception model_not_available unknown_model
    model_terms_required
""")
USAGE_LIMIT_OF_A_PLAN = split_words("""
    usage_limit_reached workspace_member_usage_limit_reached workspace_owner_usage_limit_reached
    workspace_member_credits_depleted workspace_owner_credits_depleted
""")
QUOTA_USED_UP = split_words("""
    insufficient_quota billing_hard_limit_reached exceeded_current_quota_error quota_exceeded quotaexceeded
    servicequotaexceededexception dailylimitexceeded <quota/day>
""")
MODEL_OVERLOADED = split_words("""
    overloaded_error engine_overloaded engine_overloaded_error slow_down overloaded
    server_is_overloaded model_overloaded model_capacity_exhausted serviceunavailableexception
    modelnotreadyexception service_tier_capacity_exceeded
""")
MODEL_FAILED = split_words(
    "modelerrorexception modelstreamerrorexception modeltimeoutexception internalserverexception"
)
REQUEST_TOO_LONG = split_words("""
    context_length_exceeded string_above_max_length array_above_max_length request_too_large
    context_window_exceeded
""")
CONTENT_REFUSED = split_words("""
    content_filter content_policy_violation responsibleaipolicyviolation cyber_policy_violation invalid_prompt
    moderation_blocked data_inspection_failed
""")
PARAMETER_REFUSED = split_words("""
    unsupported_parameter unsupported_value invalid_value invalid_type missing_required_parameter unknown_parameter
    decimal_above_max_value decimal_below_min_value integer_above_max_value integer_below_min_value
    invalid_image_url invalid_json json_validate_failed tool_use_failed
    previous_response_not_found invalid_encrypted_content invalid_function_parameters unprocessable_entity
    image_parse_error
""")
# Generic codes: each names a family of errors only.
LABELLED_AUTHENTICATION = split_words("authentication_error unauthenticated unauthorized token_invalid")
LABELLED_PERMISSION = split_words("""
    permission_error permission_denied permissiondenied accessdenied accessdeniedexception forbidden
    missing_scope missing_scopes insufficient_scope insufficient_permissions access_token_scope_insufficient
""")
LABELLED_RATE_LIMIT = split_words("""
    rate_limit_error rate_limit_exceeded rate_limit_reached_error ratelimitreached rate_limited tokens requests
    resource_exhausted ratelimitexceeded throttlingexception throttling_error too_many_requests
    too_many_requests_error toomanyrequests request_quota_exceeded token_quota_exceeded
""")
LABELLED_UNAVAILABLE = split_words("unavailable service_unavailable service_unavailable_error")
LABELLED_SERVER_ERROR = split_words("""
    api_error server_error internal internal_error internalservererror internal_server_error aborted
    deadline_exceeded timeout timeout_error bad_gateway gateway_timeout upstream_error backenderror
""")
LABELLED_BAD_REQUEST = split_words("""
    invalid_request_error bad_request_error badrequest bad_request invalid_argument not_found_error not_found
    failed_precondition out_of_range validationexception validation_error
""")
