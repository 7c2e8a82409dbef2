// Which texture unit each sampler of a pass reads.

/// Hands out texture units, each once a pass.
struct UnitCounter {
  private var count = 0

  /// The next unit, which `sampler` reads from now on.
  mutating func next(for sampler: String, in program: borrowing Program) -> Int {
    defer { count += 1 }
    program.shader.set(sampler, unit: count)
    return count
  }
}
