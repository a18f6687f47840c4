import ConiferKit
import Foundation
import Observation

/// The app's database, and what happens to it when the app goes to the background.
@MainActor @Observable
final class AppModel {
  let database: Database
  /// Why the database did not come back; nil when it did.
  private(set) var problem: String?
  /// Leaving and coming back, one after the other.
  @ObservationIgnored private var last = Task<Void, Never> {}

  /// - Parameter database: by default one that needs no server; with one, it is `Database.database(url:)`.
  init(_ database: Database = Database(.local("rooms"))) { self.database = database }

  /// Sends what waits as long as the system lets the app run, then lets go of the files: the system ends an app that holds
  /// locks in the background.
  func leave() {
    follow { [database] in
      _ = try? await database.drain(until: Date.now.addingTimeInterval(4))
      try? await database.suspend()
      return nil
    }
  }

  func comeBack() {
    follow { [database] in
      do throws(DatabaseError) {
        try await database.resume()
        return nil
      } catch { return error.message }
    }
  }

  private func follow(_ body: @escaping @Sendable () async -> String?) {
    let before = last
    last = Task {
      await before.value
      problem = await body()
    }
  }
}
