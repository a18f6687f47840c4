public import ConiferKeyValue
public import ConiferTree

/// What a backend does that keeps no budget by itself, or cannot check itself.
extension StorageBackend {
  /// Waits for a task that commits.
  ///
  /// - Throws: as `commit`.
  public func commitAndWait(
    _ edits: [StorageEdit], _ durability: Durability
  ) throws(StoreError) -> CommitReceipt {
    let answer = Monitor<Result<CommitReceipt, StoreError>?>(nil)
    Task.detached {
      do throws(StoreError) {
        let receipt = try await self.commit(edits, durability)
        answer.change { $0 = .success(receipt) }
      } catch {
        answer.change { $0 = .failure(error) }
      }
    }
    return try answer.wait { $0 }.get()
  }

  /// Does nothing: recency is of use to a backend that evicts.
  @discardableResult
  public func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool { true }

  /// Refuses.
  ///
  /// - Throws: `unsupported`.
  public func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    throw Self.cannotEvict
  }

  /// Refuses.
  ///
  /// - Throws: `unsupported`.
  public func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation {
    throw Self.cannotEvict
  }

  /// Refuses.
  ///
  /// - Throws: `unsupported`.
  public func space() throws(StoreError) -> StorageSpace { throw Self.cannotEvict }

  /// Refuses.
  ///
  /// - Throws: `unsupported`.
  public func verify(
    _ progress: (VerificationProgress) -> Void
  ) throws(StoreError) -> VerificationReport {
    throw StoreError(
      .unsupported, "This backend cannot verify itself: read all of it, or choose another backend.")
  }

  private static var cannotEvict: StoreError {
    StoreError(
      .unsupported,
      "This backend does not evict by itself: remove cached data with a prune, or choose another "
        + "backend.")
  }
}
