// The service: routes and services put together.
internal import GLPreview
internal import Hummingbird
