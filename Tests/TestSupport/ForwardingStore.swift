package import ConiferKeyValue

/// A store of a test over another one: what it does not do itself, that one does.
package protocol ForwardingStore: OrderedStore {
  associatedtype Base: OrderedStore

  /// The store below.
  var base: Base { get }
}

extension ForwardingStore {
  package var traits: StoreTraits { base.traits }
  package func harden(_ upTo: CommitID) throws(StoreError) { try base.harden(upTo) }
  package func view() throws(StoreError) -> any OrderedView { try base.view() }
  package func size() throws(StoreError) -> StoreSize { try base.size() }
  package func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  package func suspend() throws(StoreError) { try base.suspend() }
  package func resume() throws(StoreError) { try base.resume() }
  package func close() throws(StoreError) { try base.close() }
  package var findings: [StoreFinding] { base.findings }
  package func acknowledgeFindings() throws(StoreError) { try base.acknowledgeFindings() }
  package func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    try base.verify(found)
  }
}
