public import ConiferKeyValue

/// The durability of commits that name none, either a fixed one or the strongest that the store can
/// do.
public enum DurabilityChoice: Hashable, Sendable, CustomStringConvertible {
  /// As durable as the store can make them: `.power` for those on disk, where their engine can; `.relaxed` in memory.
  case strongest
  /// Exactly so; a store that cannot is not opened.
  case exactly(Durability)

  /// May sit in the process's own buffer.
  public static let relaxed = DurabilityChoice.exactly(.relaxed)
  /// Survives the death of the process.
  public static let process = DurabilityChoice.exactly(.process)
  /// Survives power loss; refused where the engine cannot promise it.
  public static let power = DurabilityChoice.exactly(.power)

  /// What is wanted, whatever the store can do: `strongest` wants `.power`.
  package var wanted: Durability {
    switch self {
    case .strongest: .power
    case .exactly(let level): level
    }
  }

  /// The level in a store.
  ///
  /// - Throws: `unsupported` when the store cannot do what was asked for exactly.
  public func level(in traits: StoreTraits) throws(StoreError) -> Durability {
    switch self {
    case .strongest: return traits.strongest
    case .exactly(let level):
      guard level <= traits.strongest else {
        throw StoreError(
          .unsupported,
          "This store cannot promise durability \(level) here, only \(traits.strongest): ask for "
            + "\(traits.strongest), for \"strongest\", or choose another backend.")
      }
      return level
    }
  }

  /// The spelling in URLs: `strongest`, `power`.
  public var description: String {
    switch self {
    case .strongest: "strongest"
    case .exactly(let level): "\(level)"
    }
  }
}
