"""The names of members that the three APIs define. Any other name is somebody's own, and is read as a text.

A name that is missing here costs a little time, and no more.
"""

from __future__ import annotations

_SCHEMA = """
type properties required items enum description default title format minimum maximum minLength maxLength pattern
additionalProperties anyOf oneOf allOf not const nullable minItems maxItems uniqueItems definitions strict schema
examples example propertyOrdering
"""

_OPENAI = """
model messages role content text input output instructions tools tool_choice parallel_tool_calls functions function
name arguments parameters tool_calls tool_call_id id call_id item_id index object created created_at choices message
delta finish_reason logprobs top_logprobs token bytes refusal reasoning reasoning_content summary effort stream
stream_options include_usage max_tokens max_completion_tokens max_output_tokens temperature top_p n stop seed
presence_penalty frequency_penalty logit_bias user metadata store response_format json_schema usage prompt_tokens
completion_tokens total_tokens prompt_tokens_details completion_tokens_details cached_tokens reasoning_tokens
audio_tokens accepted_prediction_tokens rejected_prediction_tokens input_tokens output_tokens input_tokens_details
output_tokens_details system_fingerprint service_tier image_url url detail input_audio data file file_id file_data
filename modalities audio prediction web_search_options previous_response_id conversation prompt variables include
truncation background status error incomplete_details code param annotations sequence_number response output_index
content_index summary_index item part encoding_format dimensions embedding embeddings categories category_scores
flagged results verbosity prompt_cache_key safety_identifier prompt_cache_retention max_tool_calls version obfuscation
transcript expires_at tool custom grammar definition syntax server_label server_url require_approval
"""

_ANTHROPIC = """
system max_tokens stop_sequences stop_reason stop_sequence top_k thinking budget_tokens signature source media_type
tool_use_id tool_use tool_result is_error cache_control ttl input_schema content_block partial_json citations
cache_creation_input_tokens cache_read_input_tokens cache_creation ephemeral_5m_input_tokens
ephemeral_1h_input_tokens service_tier container mcp_servers context_management disable_parallel_tool_use user_id
server_tool_use web_search_requests
"""

_GEMINI = """
contents parts systemInstruction system_instruction generationConfig generation_config safetySettings toolConfig
tool_config functionDeclarations function_declarations functionCallingConfig functionCall functionResponse args
response inlineData inline_data fileData file_data fileUri mimeType mime_type thought thoughtSignature candidates
finishReason safetyRatings category probability blocked usageMetadata promptTokenCount candidatesTokenCount
totalTokenCount thoughtsTokenCount cachedContentTokenCount promptTokensDetails candidatesTokensDetails modality
tokenCount modelVersion responseId createTime promptFeedback blockReason temperature topP topK candidateCount
maxOutputTokens stopSequences responseMimeType responseSchema responseJsonSchema responseModalities thinkingConfig
thinkingBudget includeThoughts citationMetadata groundingMetadata avgLogprobs cachedContent parametersJsonSchema
threshold allowedFunctionNames mode details reason domain message
"""

NAMES = frozenset(f"{_SCHEMA} {_OPENAI} {_ANTHROPIC} {_GEMINI}".split())
