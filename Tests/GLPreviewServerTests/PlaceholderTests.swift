// Will be replaced.
import HummingbirdTesting
import Testing
