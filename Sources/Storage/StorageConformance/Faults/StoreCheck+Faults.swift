internal import ConiferKeyValue
internal import ConiferStorage

extension StoreCheck {
  /// Failing disks under a store, through a packed backend on it: 10 operations of each kind, some
  /// of them syncs, since the backend's checks make every sync fail. Then the store alone.
  static var faults: [StoreCheck] {
    BackendCheck.faults(sampling: 40).map { check in
      StoreCheck("On a failing disk: \(check.name)") { factory in
        try await check.run(packed(factory).variant())
      }
    } + [
      StoreCheck("On a failing disk: the store itself says that the disk failed", .wrongError) {
        factory in
        var faults = 0
        for fault in [StorageFault.io, .sync] {
          faults += try StoreFaults(factory: factory, fault: fault).run()
        }
        try FaultChoice.requireReached(faults)
      }
    ]
  }

  /// The packed backend on a factory's stores.
  private static func packed(_ factory: StoreFactory) -> BackendFactory {
    BackendFactory(
      name: factory.name, declared: factory.declared,
      options: StorageOptions(
        compression: .none, durability: .exactly(min(.process, factory.declared.strongest))),
      evicts: true, worksInBackground: factory.worksInBackground
    ) { (directory, options) throws(StoreError) in
      try packed(try factory.open(directory), factory.name, options)
    }
  }

  private static func packed(
    _ store: some OrderedStore, _ name: String, _ options: StorageOptions
  ) throws(StoreError) -> any StorageBackend {
    do throws(StoreError) {
      return try PackedBackend(store, name: name, options: options)
    } catch {
      try? store.close()
      throw error
    }
  }
}
