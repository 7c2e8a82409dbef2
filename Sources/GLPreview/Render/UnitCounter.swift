// Assigns texture units to the samplers of a pass.

/// Hands out each texture unit once per pass.
struct UnitCounter {
  private var count = 0

  /// Assigns the next unit to `sampler`.
  mutating func next(for sampler: String, in program: borrowing Program) -> Int {
    defer { count += 1 }
    program.shader.set(sampler, unit: count)
    return count
  }
}
