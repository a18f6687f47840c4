internal import ConiferKeyValue

/// One named check of the contract of `OrderedStore`.
///
/// A backend author shows each by name in a test of their own:
///
///     @Test(arguments: StoreCheck.all(for: factory))
///     func contract(_ check: StoreCheck) async throws { try await check.run(factory) }
///
/// The kit throws ``ConformanceFailure`` and needs no test library itself, so that a program can
/// run it too (``ConformanceReport``).
public struct StoreCheck: Sendable, Identifiable, CustomStringConvertible {
  /// The check's name: the sentence that must be true of the store.
  public let name: String
  private let body: @Sendable (StoreFactory) async throws -> Void

  /// A check.
  ///
  /// - Parameters:
  ///   - name: the sentence that must be true of the store.
  ///   - body: throws when it is not.
  public init(_ name: String, _ body: @escaping @Sendable (StoreFactory) async throws -> Void) {
    self.name = name
    self.body = body
  }

  /// The name: checks of one name are one check.
  public var id: String { name }
  /// The name.
  public var description: String { name }

  /// Runs the check on stores in temporary directories, which it removes.
  ///
  /// - Parameter factory: makes the stores.
  /// - Throws: ``ConformanceFailure`` when the store breaks the contract.
  public func run(_ factory: StoreFactory) async throws {
    do {
      try await body(factory)
    } catch {
      throw ConformanceFailure("\(factory.name): \(name): \(error)")
    }
  }

  /// Every check that applies to a factory's declared traits.
  ///
  /// - Parameter factory: whose traits choose; a trait that is not declared is checked to be absent.
  public static func all(for factory: StoreFactory) -> [StoreCheck] {
    traits + order + batches + limits + views + durability + programs + suspension
      + (factory.declared.isPersistent ? persistence : forgetfulness)
      + (factory.isExclusive ? ownership : [])
      + (factory.ownerFile != nil ? staleLocks : [])
      + faults(factory)
  }
}
