public import ConiferKeyValue
public import ConiferStorage

/// A backend that takes part, wherever it comes from.
public struct Candidate: Sendable {
  /// The name in tables.
  public let name: String
  /// The strongest durability that it can be asked for; it has no place in the tables above.
  public let strongest: Durability
  /// The backend on a directory, which is made if it is missing.
  public let configuration:
    @Sendable (_ directory: String, _ options: StorageOptions) -> StorageConfiguration

  /// A backend that takes part.
  ///
  /// - Parameters:
  ///   - name: in tables.
  ///   - strongest: the strongest durability of its commits.
  ///   - configuration: the backend on a directory, as `.sqlite(at:options:)` makes it.
  public init(
    name: String, strongest: Durability = .power,
    configuration: @escaping @Sendable (String, StorageOptions) -> StorageConfiguration
  ) {
    self.name = name
    self.strongest = strongest
    self.configuration = configuration
  }

  /// The memory backend, which shows what the layers above a store cost.
  public static let memory = Candidate(name: "memory", strongest: .relaxed) { _, options in
    .memory(options)
  }
}
