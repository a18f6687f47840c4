internal import ConiferStorage

extension BackendCheck {
  /// Failing disks, where the C library's file calls can be reached: on Linux with glibc.
  ///
  /// `CONIFER_FAULTS=all` lets every operation fail in turn, a number that one alone; else the first
  /// ones, every sync, and a sample that `CONIFER_SEED` chooses, of the size that `sample 6` says.
  static func faults(sampling count: Int = 24) -> [BackendCheck] {
    StorageFault.allCases.map { fault in
      BackendCheck(.faults, fault.promise) { bench in
        try await FaultLoop(bench: bench, fault: fault)
          .run(try FaultLoop.Choice(sampling: count))
      }
    } + fullDisks
  }

  private static let fullDisks = [
    BackendCheck(
      .faults, "a full disk refuses writes, and reading, draining, evicting and opening go on"
    ) { bench in try await FullDisk(bench, .afterDraining).run() },
    BackendCheck(.faults, "a store opened on a full disk can be read, drained and evicted from") {
      bench in try await FullDisk(bench, .beforeDraining).run()
    },
  ]
}
