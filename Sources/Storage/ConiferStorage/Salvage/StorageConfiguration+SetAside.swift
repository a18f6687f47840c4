package import ConiferKeyValue

extension StorageConfiguration {
  /// The directories with the files of damaged stores that ``openOrSalvage()`` has set aside beside this one.
  ///
  /// - Throws: `denied`, `io`.
  package func setAside() throws(StoreError) -> [String] {
    guard let root else { return [] }
    return try StoreExchange.setAside(root)
  }

  /// Removes the files of damaged stores that ``openOrSalvage()`` has set aside beside this one, for who no longer wants
  /// anything of the data; the empty directories stay, as they keep numbers of writes from being given again.
  ///
  /// - Throws: `denied`, `io`.
  package func emptySetAside() throws(StoreError) {
    for directory in try setAside() {
      for name in try Directory.names(in: directory) { Directory.remove("\(directory)/\(name)") }
      try Platform.syncDirectory(directory)
      guard Directory.isEmpty(directory) else {
        throw StoreError(
          .denied, "What was set aside in \(directory) cannot be removed. Remove the directory.")
      }
    }
  }
}
