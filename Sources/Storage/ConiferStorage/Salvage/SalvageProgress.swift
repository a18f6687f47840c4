/// How far a salvage is.
package struct SalvageProgress: Sendable {
  /// What it does, in the order in which it does it.
  package enum Phase: String, Sendable {
    case reading
    case copying
  }

  package let phase: Phase
  /// Bytes that the phase has dealt with.
  package let bytes: Int
  /// About how many it will deal with.
  package let expected: Int
}
