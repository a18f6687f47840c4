// What Examples/RoomsApp uses of SwiftUI, without any effect, so that its sources are type-checked where SwiftUI is not.

package import Foundation

@MainActor @preconcurrency
package protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

extension Never: View {
  package var body: Never { return fatalError() }
}

package protocol Primitive: View where Body == Never {}
extension Primitive {
  package var body: Never { return fatalError() }
}

package struct Nothing: Primitive {}

@resultBuilder
package enum ViewBuilder {
  package static func buildBlock<each Content: View>(_ content: repeat each Content) -> Nothing {
    Nothing()
  }
  package static func buildOptional(_ content: Nothing?) -> Nothing { Nothing() }
  package static func buildEither(first: Nothing) -> Nothing { Nothing() }
  package static func buildEither(second: Nothing) -> Nothing { Nothing() }
}

@MainActor @preconcurrency
package protocol Scene {
  associatedtype Body: Scene
  @SceneBuilder var body: Body { get }
}

extension Never: Scene {}

@resultBuilder
package enum SceneBuilder {
  package static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

package struct WindowGroup: Scene {
  package init(@ViewBuilder content: () -> some View) {}
  package var body: Never { return fatalError() }
}

package struct ChangedScene: Scene {
  package var body: Never { return fatalError() }
}

extension Scene {
  package func onChange<Value: Equatable>(
    of value: Value, _ action: @escaping (Value, Value) -> Void
  ) -> ChangedScene { ChangedScene() }
}

@MainActor @preconcurrency
package protocol App {
  associatedtype Body: Scene
  @SceneBuilder var body: Body { get }
  init()
}

extension App {
  package static func main() {}
}

@propertyWrapper
package struct State<Value> {
  package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  package init(initialValue: Value) { wrappedValue = initialValue }
  package var wrappedValue: Value {
    get { fatalError() }
    nonmutating set {}
  }
  package var projectedValue: Binding<Value> { Binding() }
}

package struct Binding<Value> {}

package enum ScenePhase: Comparable { case background, inactive, active }

package struct EnvironmentValues {
  package var scenePhase: ScenePhase { .active }
}

@propertyWrapper
package struct Environment<Value> {
  package init(_ path: KeyPath<EnvironmentValues, Value>) {}
  package var wrappedValue: Value { fatalError() }
}

package struct Text: Primitive {
  package init(_ words: some StringProtocol) {}
}

package struct TextField: Primitive {
  package init(_ title: some StringProtocol, text: Binding<String>) {}
}

package struct List: Primitive {
  package init(@ViewBuilder content: () -> some View) {}
}

package struct NavigationStack: Primitive {
  package init(@ViewBuilder root: () -> some View) {}
}

package struct NavigationLink: Primitive {
  package init(_ title: some StringProtocol, @ViewBuilder destination: () -> some View) {}
}

package struct ForEach: Primitive {
  package init<Data: RandomAccessCollection>(
    _ data: Data, @ViewBuilder content: (Data.Element) -> some View
  ) where Data.Element: Identifiable {}

  package func onDelete(perform action: @escaping (IndexSet) -> Void) -> Nothing { Nothing() }
}

extension View {
  package func onSubmit(_ action: @escaping () -> Void) -> Nothing { Nothing() }
  package func navigationTitle(_ title: some StringProtocol) -> Nothing { Nothing() }
}

@MainActor @preconcurrency
package protocol PreviewProvider {
  associatedtype Previews: View
  @ViewBuilder static var previews: Previews { get }
}
