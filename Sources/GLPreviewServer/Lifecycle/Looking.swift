// Services that look at something again and again, for as long as they run.
internal import GLPreview
internal import ServiceLifecycle

/// Runs `work` in a task that is cancelled when the service ends.
func untilShutdown(_ work: @escaping @Sendable () async -> Void) async {
  let working = Task { await work() }
  await withTaskCancellationOrGracefulShutdownHandler {
    await working.value
  } onCancelOrGracefulShutdown: {
    working.cancel()
  }
}

/// Waits for the next whole multiple of `interval`, or until the task is cancelled. All that wait so are woken at once, which costs
/// little more than to wake one.
func nextLook(every interval: Duration) async {
  let passed = CaptureClock.now.sinceStart / interval
  try? await CaptureClock().sleep(until: .start + interval * (passed.rounded(.down) + 1))
}
