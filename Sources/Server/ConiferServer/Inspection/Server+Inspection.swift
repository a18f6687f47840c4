package import ConiferTree

extension Server {
  /// The names of the databases that are served, in the order of their UTF-8.
  package var namespaces: [String] { hostNames }

  /// Reports who is connected to a database and its traffic, without walking the data.
  ///
  /// - Parameters:
  ///   - namespace: the database's name. The report on a database that is not served is empty; the
  ///     database is not created.
  ///   - limits: the limits of the report.
  package func inspect(
    _ namespace: String, _ limits: InspectionLimits = InspectionLimits()
  ) -> NamespaceReport {
    if let host = hostIfServed(namespace) { return host.report(namespace, limits) }
    return Namespace().report(namespace, limits, now: clock.now)
  }

  /// The data of a database and its number of changes so far, without creating the database.
  package func moment(of namespace: String) -> (root: Node, changes: Int) {
    hostIfServed(namespace)?.moment ?? (.empty, 0)
  }
}
