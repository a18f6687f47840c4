import ConiferKit

/// The code of Docs/Guide.md on databases without a server.
enum LocalSamples {
  static func bringToServer(
    _ local: Database, _ database: Database, _ show: @escaping @Sendable (String) -> Void
  ) async throws -> Database.CopyProgress {
    let result = try await local.copy(to: database) { progress in
      show("\(progress.copied + progress.kept) of \(progress.total)")
    }
    return result
  }
}
