"""The names of LiteLLM's and the clients' exceptions, by what they mean."""

from __future__ import annotations

from litellm_evenkeel.rotation.codes import each

REFUSED_BY_LITELLM = each("""
    BudgetExceededError GuardrailRaisedException BlockedPiiEntityError RejectedRequestError UnsupportedParamsError
    JSONSchemaValidationError LiteLLMUnknownProvider ImageFetchError ModifyResponseException
    SensitiveDataRouteException VectorStoreSearchError
""")
FOUND_AT_FAULT_BY_LITELLM = each("ContextWindowExceededError ContentPolicyViolationError")
CLIENT_WENT_AWAY = each("CancelledError ClientDisconnect ClientDisconnected")
CONNECTION = each("""
    APIConnectionError Timeout APITimeoutError MidStreamFallbackError TimeoutError ConnectError ConnectTimeout
    ReadError ReadTimeout WriteError WriteTimeout PoolTimeout RemoteProtocolError ConnectionError
    ConnectionResetError SSLError ClientConnectorError ServerDisconnectedError
""")
FAULT = each("""
    InternalServerError BadGatewayError APIError APIStatusError APIResponseValidationError
""")
BAD_REQUEST = each("""
    BadRequestError NotFoundError UnprocessableEntityError InvalidRequestError ConflictError
""")
