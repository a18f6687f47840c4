#if Network
  import Foundation

  /// The number that an environment variable gives, or a small one.
  package func size(_ name: String, _ usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
  }

  /// The seeds that each store gets: as many as `CONIFER_DEATHS` says, one otherwise; no two stores have one in common.
  package func deathSeeds<Store>(of stores: [Store]) -> [(Store, UInt64)] {
    stores.enumerated().flatMap { index, store in
      (0..<UInt64(size("CONIFER_DEATHS", 1))).map { (store, $0 * 10 + UInt64(index) + 1) }
    }
  }
#endif
