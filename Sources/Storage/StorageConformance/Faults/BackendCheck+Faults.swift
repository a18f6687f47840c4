internal import ConiferStorage

extension BackendCheck {
  /// Failing disks, where the C library's file calls can be reached: on Linux with glibc.
  ///
  /// `CONIFER_FAULTS=all` makes every operation fail in turn, a number only that one. Otherwise the
  /// first operations fail, every sync, and a sample that `CONIFER_SEED` chooses; `sample 6` sets
  /// its size.
  static func faults(sampling count: Int = 24) -> [BackendCheck] {
    StorageFault.allCases.map { fault in
      BackendCheck(.faults, fault.promise) { fixture in
        try await FaultLoop(fixture: fixture, fault: fault)
          .run(try FaultChoice(sampling: count))
      }
    } + fullDisks
  }

  private static let fullDisks = [
    BackendCheck(
      .faults, "a full disk refuses writes, and reading, draining, evicting and opening go on"
    ) { fixture in try await FullDisk(fixture, .afterDraining).run() },
    BackendCheck(.faults, "a store opened on a full disk can be read, drained and evicted from") {
      fixture in try await FullDisk(fixture, .beforeDraining).run()
    },
  ]
}
